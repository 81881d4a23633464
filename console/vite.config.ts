import { brotliCompressSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vite';

/** Ships the assets compressed: the package is smaller, and so is what a browser loads. The server reads both forms. */
const compressAssets: Plugin = {
  name: 'compress-assets',
  apply: 'build',
  enforce: 'post',
  generateBundle(_, bundle) {
    for (const [fileName, file] of Object.entries(bundle)) {
      if (!/^assets\/.*\.(?:js|css|svg)$/.test(fileName)) continue;
      const source = brotliCompressSync(file.type === 'chunk' ? file.code : file.source);
      delete bundle[fileName];
      this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source });
    }
  },
};

/** The console is built into the package as static files, so it works without a network. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compressAssets],
  resolve: { conditions: ['quittance-source'] },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // No inlining: the content security policy allows only scripts and styles in files of the server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:4747', '/login': 'http://127.0.0.1:4747' } },
});
