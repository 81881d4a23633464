import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The console is built into the package as static files, so it works without a network. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
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
