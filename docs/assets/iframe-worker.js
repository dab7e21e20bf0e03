// The search runs in a worker. A browser allows no workers on pages that are opened from a folder
// (file:), so there the script of the worker runs in a hidden frame instead.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      const page = this.inside.document;
      // What the script posts arrives here, and what is posted here arrives in the script.
      this.inside.postMessage = (data) => {
        this.dispatchEvent(new MessageEvent("message", { data }));
      };
      this.inside.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => load(page, next)), Promise.resolve());
      this.ready = load(page, new URL(url, document.baseURI).href);
    }
    postMessage(data) {
      this.ready.then(() => {
        this.inside.dispatchEvent(new MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  }
  const load = (page, url) =>
    new Promise((done, failed) => {
      const script = page.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      page.head.appendChild(script);
    });
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
