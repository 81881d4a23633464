import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { packageFolders } from './own-files.ts';

const root = mkdtempSync(join(tmpdir(), 'quittance-own-packages-'));
afterAll(() => rmSync(root, { recursive: true }));

/** Writes packages by their folders, and returns what is protected if the module is where the core has it. */
function protectedIn(
  layout: string,
  packages: Readonly<Record<string, string>>,
  module: string,
): readonly string[] {
  const folder = join(root, layout);
  for (const [path, name] of Object.entries(packages)) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ name }));
  }
  mkdirSync(dirname(join(folder, module)), { recursive: true });
  return packageFolders(pathToFileURL(join(folder, module)).href).map((path) =>
    path.slice(folder.length + 1),
  );
}

test('packages that npm installed are protected, also those that are installed later', () => {
  const packages = { '.': 'shop', 'node_modules/quittance': 'quittance', 'node_modules/zod': 'zod' };
  expect(protectedIn('npm', packages, 'node_modules/quittance/dist/index.js')).toEqual([
    'node_modules/quittance',
    'node_modules/@quittance',
  ]);
});

test('packages in the store of pnpm are protected with the links to them', () => {
  const store = 'node_modules/.pnpm';
  const [core, server] = [
    `${store}/quittance@0.1.0/node_modules/quittance`,
    `${store}/@quittance+server@0.1.0/node_modules/@quittance/server`,
  ];
  const packages = { '.': 'shop', [core]: 'quittance', [server]: '@quittance/server' };
  expect(protectedIn('pnpm', packages, `${core}/dist/index.js`)).toEqual([
    core,
    `${store}/@quittance+server@0.1.0`,
    'node_modules/quittance',
    'node_modules/@quittance',
  ]);
});

test('every package of a checkout is protected, and nothing else next to them', () => {
  const packages = {
    'packages/quittance': 'quittance',
    'packages/cli': '@quittance/cli',
    'packages/shop': 'shop',
  };
  expect(protectedIn('checkout', packages, 'packages/quittance/src/runtime/own-files.ts')).toEqual([
    'packages/quittance',
    'packages/cli',
  ]);
});

test('a bundle is protected as one file', () => {
  expect(protectedIn('bundled', { '.': 'shop' }, 'dist/server.js')).toEqual(['dist/server.js']);
});
