// Chromium for the tests of pages.
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export function launch(...flags) {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: [...FLAGS, ...flags] });
}

// A page, and the list that its errors come into.
export async function blank(browser, viewport, timeout = 45_000) {
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(timeout);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  return { page, problems };
}

// As `blank`, of a page that needs no network: a request to one is a problem.
export async function offline(browser, viewport, timeout) {
  const { page, problems } = await blank(browser, viewport, timeout);
  page.on("request", (request) => {
    if (/^https?:/.test(request.url())) problems.push(`a request for ${request.url()}`);
  });
  return { page, problems };
}
