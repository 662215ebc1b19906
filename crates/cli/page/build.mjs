// Lays the page out in dist/, from where the binary embeds it: our own files as they are, and uPlot's.
import { cpSync, mkdirSync, rmSync } from "node:fs";

const here = new URL(".", import.meta.url);
const dist = new URL("dist/", here);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
cpSync(new URL("src/", here), dist, { recursive: true });
cpSync(new URL("node_modules/uplot/dist/uPlot.esm.js", here), new URL("uplot.js", dist));
cpSync(new URL("node_modules/uplot/dist/uPlot.min.css", here), new URL("uplot.css", dist));
cpSync(new URL("node_modules/uplot/LICENSE", here), new URL("uplot.LICENSE", dist));
