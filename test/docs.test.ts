import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { renderApi } from '../scripts/render-api.ts';
import { renderBypasses } from '../scripts/render-bypasses.ts';
import { renderCli } from '../scripts/render-cli.ts';
import { renderConfig } from '../scripts/render-config.ts';
import { renderDocs } from '../scripts/render-docs.ts';
import { reasonCodes } from '../packages/quittance/src/call/reason.ts';
import { root } from './sources.ts';

const pages = await renderDocs();

describe('the generated pages of docs/', () => {
  test.each([...pages.keys()])('%s is what the tables say (npm run docs writes it again)', (path) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(pages.get(path));
  });

  test('the schema and the page of the settings are what their table says (npm run docs writes them again)', async () => {
    for (const [path, text] of await renderConfig())
      expect(readFileSync(join(root, path), 'utf8')).toBe(text);
  });

  test('every link between them leads to a heading', () => {
    const anchors = new Map(
      [...pages].map(([path, text]) => [
        path.replace('docs/', ''),
        [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
          heading
            .toLowerCase()
            .replaceAll('\\', '')
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        ),
      ]),
    );
    const broken = [...pages].flatMap(([path, text]) =>
      [...text.matchAll(/\]\(([\w-]+\.md)?(?:#([\w-]+))?\)/g)]
        .filter(([, page = path.replace('docs/', ''), anchor]) => {
          const known = anchors.get(page);
          return known === undefined || (anchor !== undefined && !known.includes(anchor));
        })
        .map(([link]) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('every reason code has its section', () => {
    const text = pages.get('docs/reason-codes.md') ?? '';
    expect(
      reasonCodes.filter(
        (code) =>
          !text.includes(`\n### ${code.replaceAll('_', '\\_')}\n`) && !text.includes(`\n### ${code}\n`),
      ),
    ).toEqual([]);
  });
});

test('the pages of commands and bypasses match their tables (npm run docs writes them again)', async () => {
  for (const [path, text] of [...(await renderCli()), ...(await renderBypasses())])
    expect([path, readFileSync(join(root, path), 'utf8')]).toEqual([path, text]);
});

test('the schemas of the HTTP API are written from its types (npm run docs writes them again)', async () => {
  for (const [path, text] of await renderApi()) expect(readFileSync(join(root, path), 'utf8')).toBe(text);
});
