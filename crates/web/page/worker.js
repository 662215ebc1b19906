// The first message is the compiled module, the others are requests with a number; the answer has the same number.
let ask = null;
onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    ask = WebAssembly.instantiate(data, {}).then(labOf);
    return;
  }
  const lab = await ask;
  const began = performance.now();
  const answer = JSON.parse(lab(data.request));
  postMessage({ number: data.number, answer, took: performance.now() - began });
};
