/** The runtime of `sign-in-server.ts`. The tool notes its runs in a file, so that a second one in another process is found. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import type { OpenLedger } from 'quittance/store';
import { z } from 'zod';

const folder = process.env['QUITTANCE_TEST_FOLDER'] ?? '';

const pay = defineTool({
  name: 'pay',
  mode: 'external',
  input: z.object({ to: z.string(), cents: z.number() }),
  run: ({ to, cents }) => {
    appendFileSync(join(folder, 'runs.txt'), `${to} ${cents}\n`);
    return { paid: cents };
  },
});

export default async (ledger: OpenLedger): Promise<Runtime> =>
  createRuntime({ tools: [pay], ledger, contracts: await contractsFromYaml(join(folder, 'rules.yaml')) });
