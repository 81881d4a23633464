#!/usr/bin/env node
// Checks the version of Node first, in syntax that old versions can parse. Only then loads the program.
const [major] = process.versions.node.split('.');
if (Number(major) < 22) {
  console.error(
    `quittance needs Node 22 or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer one from https://nodejs.org, or switch with your version manager: nvm install 24',
  );
  process.exitCode = 2;
} else {
  import('./program.ts').then(
    (program) => program.run(),
    (error) => {
      console.error(error);
      process.exitCode = 3;
    },
  );
}
