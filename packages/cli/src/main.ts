#!/usr/bin/env node
// Checks the version of Node first, in syntax that old versions can parse. Only then loads the program.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  console.error(
    `quittance needs Node 24.16 or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
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

// A module, so that its names are its own.
export {};
