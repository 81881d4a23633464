/**
 * Builds the documentation site: `npm run site`. It goes to site/dist/VERSION, next to versions that were built before,
 * and needs no server: open it with any static file server. `--out FOLDER` writes elsewhere, `--base /docs/` says
 * where the site will be served.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'site/dist' }, base: { type: 'string', default: '/' } },
});
const root = join(import.meta.dirname, '..');
const out = resolve(root, values.out);
const base = `/${values.base.split('/').filter(Boolean).join('/')}/`.replace('//', '/');
const folder = join(out, manifest.version);

rmSync(folder, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(root, 'site/node_modules/vitepress/bin/vitepress.js'), 'build', join(root, 'site')],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      SITE_BASE: `${base}${manifest.version}/`,
      SITE_OUT: folder,
      NODE_ENV: 'production',
    },
  },
);

// The plain pages, for agents: the addresses in llms.txt are relative to it.
for (const page of ['llms.txt', ...globSync('**/*.md', { cwd: join(root, 'docs') })]) {
  mkdirSync(dirname(join(folder, page)), { recursive: true });
  copyFileSync(join(root, 'docs', page), join(folder, page));
}
if (existsSync(join(root, 'docs/images')))
  cpSync(join(root, 'docs/images'), join(folder, 'images'), { recursive: true });

const versions = readdirSync(out, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && /^\d+\.\d+\.\d+/.test(entry.name))
  .map(({ name }) => name)
  .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }));
const page = (title: string, body: string, head = ''): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
${head}<title>${title}</title>
<body style="font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
${body}
`;
const links = versions.map((version) => `<li><a href="${base}${version}/">Quittance ${version}</a>`);
writeFileSync(
  join(out, 'versions.html'),
  page('Versions', `<h1>Versions</h1>\n<ul>\n${links.join('\n')}\n</ul>`),
);
/** A page that leads elsewhere at once. */
const redirect = (title: string, to: string): string =>
  page(title, `<a href="${to}">${title}</a>`, `<meta http-equiv="refresh" content="0; url=${to}">\n`);
// The list of versions grows, so each version leads to the one at the root.
writeFileSync(join(folder, 'versions.html'), redirect('Versions of Quittance', `${base}versions.html`));
const latest = `${base}${versions[0]}/`;
writeFileSync(join(out, 'index.html'), redirect(`Documentation of Quittance ${versions[0]}`, latest));
console.log(`Wrote ${folder}. Serve ${out} with any static file server.`);
