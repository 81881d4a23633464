/** The tools of the coding agent: files and commands of one folder, under the rules for coding agents. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { tool } from 'langchain';
import { contractsFromTemplate } from 'quittance/contracts';
import { governTools } from '@quittance/langchain';
import type { OpenLedger } from 'quittance/store';
import { z } from 'zod';

/** Tools that work in `folder`. Keep the ledger and this file outside of it. */
export function governCoding(ledger: OpenLedger, folder: string) {
  const readTool = tool(({ path }) => readFile(join(folder, path), 'utf8'), {
    name: 'read_file',
    description: 'Reads a file of the project.',
    schema: z.object({ path: z.string() }),
  });
  const writeTool = tool(
    async ({ path, text }) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
      return `Wrote ${path}.`;
    },
    {
      name: 'write_file',
      description: 'Writes a file of the project.',
      schema: z.object({ path: z.string(), text: z.string() }),
    },
  );
  const runTool = tool(
    async ({ command }) => {
      // The rules have read the command. Only a sandbox confines what its programs do.
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], {
        cwd: folder,
        timeout: 60_000,
        env: { PATH: process.env['PATH'], HOME: folder },
      });
      return { stdout, stderr };
    },
    {
      name: 'run_command',
      description: 'Runs a command in the project folder.',
      schema: z.object({ command: z.string() }),
    },
  );
  return governTools([readTool, writeTool, runTool], {
    ledger,
    contracts: contractsFromTemplate('coding-agent', { workingDirectory: folder }),
    // The rules decide about commands, so the mode `local` does not ask again.
    treatments: { local: 'run' },
    overrides: {
      read_file: { resources: { paths: ['path'] } },
      write_file: { mode: 'safe_write', resources: { paths: ['path'] } },
      run_command: { mode: 'local', timeoutMs: 60_000, resources: { commands: ['command'] } },
    },
    protectedFiles: { readOnly: [import.meta.filename] },
    // Commands run as this user, so their code can reach the ledger. For code you do not trust, make run_command with
    // createSandbox of quittance/sandbox instead, and remove this line.
    ownFiles: 'reachable',
  });
}

export type Coding = Awaited<ReturnType<typeof governCoding>>;

/** For the console: `PROJECT=/srv/project quittance serve --runtime quittance.ts`. */
export default async (ledger: OpenLedger) =>
  (await governCoding(ledger, process.env['PROJECT'] ?? process.cwd())).runtime;
