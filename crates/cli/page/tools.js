// The tools on the picture: fullscreen, and a recording made by the browser.

const RECORDED = ["video/mp4", "video/webm;codecs=h264,opus", "video/webm"];

function toggleFullscreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else hero()?.closest(".screen").requestFullscreen?.();
}

// The state of the page's own recording; `null` where none runs.
let recording = null;

function toggleRecording() {
  if (recording) return recording.stop();
  const type = RECORDED.find((type) => MediaRecorder.isTypeSupported(type));
  const chunks = [];
  recording = new MediaRecorder(hero().srcObject, { mimeType: type });
  recording.addEventListener("dataavailable", ({ data }) => chunks.push(data));
  recording.addEventListener("stop", () => {
    recording = null;
    showRecording();
    const link = make("a", { href: URL.createObjectURL(new Blob(chunks, { type })), download: `seaway.${type.includes("mp4") ? "mp4" : "webm"}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  recording.start(1000);
  showRecording();
}

function showRecording() {
  byId("record").textContent = recording ? "Stop" : "Record";
  byId("record").setAttribute("aria-pressed", String(recording != null));
}

byId("fullscreen").addEventListener("click", toggleFullscreen);
byId("fullscreen").hidden = !document.fullscreenEnabled;
byId("record").addEventListener("click", toggleRecording);
byId("record").hidden = !("MediaRecorder" in window);
addEventListener("dblclick", ({ target }) => target === hero() && toggleFullscreen());
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  if (ctrlKey || metaKey || altKey || target.closest("input, select, textarea")) return;
  if (key === "f") toggleFullscreen();
  if (key === "m" && !byId("sound").hidden) document.querySelector("#sound button").click();
});
