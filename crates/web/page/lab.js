// The lab behind its three functions: requests and answers are objects.
function labOf(instance) {
  const { memory, seaway_request, seaway_answer, seaway_answer_at } = instance.exports;
  return (request) => {
    const octets = new TextEncoder().encode(JSON.stringify(request));
    const to = seaway_request(octets.length);
    new Uint8Array(memory.buffer, to, octets.length).set(octets);
    const length = seaway_answer();
    return new TextDecoder().decode(new Uint8Array(memory.buffer, seaway_answer_at(), length));
  };
}
