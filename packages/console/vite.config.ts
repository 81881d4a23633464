import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vite';

/** Ships the assets compressed: the package is smaller, and so is what a browser loads. The server reads both forms. */
const compressAssets: Plugin = {
  name: 'compress-assets',
  apply: 'build',
  // After the files are written: Vite changes them until then.
  writeBundle({ dir = '' }, bundle) {
    for (const fileName of Object.keys(bundle)) {
      if (!/^assets\/.*\.(?:js|css|svg)$/.test(fileName)) continue;
      const path = join(dir, fileName);
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
      rmSync(path);
    }
  },
};

/** The source of a module of another package: `quittance/internal/base/json`, `@quittance/react/src/code-block.tsx`. */
function sourceOf(specifier: string): string {
  const [, folder = '', module = ''] =
    /^(?:@quittance\/)?([\w-]+)\/(?:internal|src)\/(.+)$/.exec(specifier) ?? [];
  const path = join(import.meta.dirname, '..', folder, 'src', module);
  return /\.tsx?$/.test(path) ? path : `${path}.ts`;
}

/** The modules of the first page: its script and all that it imports. */
const firstModules = new Set([join(import.meta.dirname, 'src/main.tsx')]);
for (const path of firstModules)
  for (const [, to = ''] of readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)(?! type\b)[^;]*? from '([^']+)';$/gm,
  ))
    if (/^\.[^']+\.tsx?$/.test(to)) firstModules.add(resolve(dirname(path), to));
    else if (to.includes('quittance')) firstModules.add(sourceOf(to));

/** What several later pages share is one file: many small files compress badly, and a browser loads them all anyway. */
const sharedByPages = {
  name: 'shared',
  test: (id: string) => /\.tsx?$/.test(id) && !firstModules.has(id),
  minShareCount: 2,
};

/** The console is built into the package as static files, so it works without a network. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compressAssets],
  resolve: {
    conditions: ['quittance-source'],
    // The console is written for React and runs on Preact, which is a tenth of its size.
    alias: {
      'react-dom/client': 'preact/compat/client',
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react-dom': 'preact/compat',
      react: 'preact/compat',
    },
  },
  build: {
    outDir: '../server/dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // No inlining: the content security policy allows only scripts and styles in files of the server.
    assetsInlineLimit: 0,
    // One file: the parts are larger together, and each page would load several of them, in any order.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { codeSplitting: { groups: [sharedByPages], includeDependenciesRecursively: false } },
    },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:4747', '/login': 'http://127.0.0.1:4747' } },
});
