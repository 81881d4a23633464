/** Runs a sandbox in a process that has inherited an open folder of the host as descriptor 60. */
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { createSandbox } from 'quittance/sandbox';

const [project = ''] = process.argv.slice(2);
const contracts = contractsFromYamlString(
  `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: box }
defaults: { mode: enforce }
rules: [{ id: here, type: sandbox, tools: [Bash], within: ['.'], message: Stay here. }]`,
  { workingDirectory: project },
);
const sandbox = createSandbox({ contracts, ledger: createMemoryLedger() });
const { stdout } = await sandbox.run('Bash', [
  '/bin/bash',
  '-c',
  'for f in /proc/self/fd/*; do cat $f/secret.txt; done; cat <&60; echo ran',
]);
process.stdout.write(stdout);
