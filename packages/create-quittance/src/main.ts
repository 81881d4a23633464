#!/usr/bin/env node
// `npm create quittance my-agent` runs `quittance init my-agent`.
process.argv.splice(2, 0, 'init');
import('@quittance/cli/main').catch((error: unknown) => {
  console.error(error);
  process.exitCode = 3;
});
