#!/usr/bin/env node
// First of all, and in words that every Node reads: is this one new enough? Only then is the program loaded.
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
