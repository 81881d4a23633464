/** A project on disk with a ledger, a contract file and links to them, and a runtime that must keep calls away. */
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime, ToolMode, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { Door } from '../attacks/attack-class.ts';

export type OwnFilesStage = {
  readonly root: string;
  /** The working folder of the agent. */
  readonly agent: string;
  readonly ledgerPath: string;
  readonly contractsPath: string;
  readonly ledger: OpenLedger;
  readonly runtime: Runtime;
  /** The names of the tools whose bodies ran. */
  readonly ran: string[];
  readonly call: (tool: string, input: JsonObject) => Promise<ToolOutcome>;
  readonly close: () => Promise<void>;
};

/** The package, from its source or packed. */
export type StageDoor = Pick<Door, 'quittance' | 'contracts' | 'ledger'>;

/** Every tool takes any arguments and does nothing. */
const modes: Readonly<Record<string, ToolMode>> = {
  read_file: 'read',
  Grep: 'read',
  list_directory: 'read',
  Glob: 'read',
  Write: 'safe_write',
  edit_thing: 'external',
  delete_folder: 'destructive',
  Bash: 'local',
};

const rules = (name: string): string => `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: ${name}}
defaults: {mode: enforce}
rules:
  - id: nothing
    type: pre
    tool: Nothing
    when: {tool.name: {exists: true}}
    then: {action: block, message: No.}
`;

/**
 * `inside`: the ledger is in the agent's folder. `outside`: next to it, where it belongs. `contracts: false`:
 * no rule at all.
 */
export async function setOwnFilesStage(
  {
    quittance: { createRuntime, defineTool },
    contracts: { contractsFromYaml },
    ledger: { openLedger },
  }: StageDoor,
  where: 'inside' | 'outside',
  { contracts: withContracts = true }: { readonly contracts?: boolean } = {},
): Promise<OwnFilesStage> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'own-files-')));
  const agent = join(root, 'agent');
  const ledgerPath = join(where === 'inside' ? agent : root, '.quittance', 'ledger.db');
  const contractsPath = join(agent, 'contracts.yaml');
  mkdirSync(join(agent, 'src', 'deep'), { recursive: true });
  writeFileSync(join(agent, 'src', 'a.ts'), '');
  writeFileSync(contractsPath, rules('own-files'));
  const ledger = await openLedger(ledgerPath);
  void ledger.sealKey; // creates the key file
  writeFileSync(`${ledgerPath}.tokens`, '{"version":1,"tokens":[],"logins":[]}', { mode: 0o600 });
  symlinkSync(join(ledgerPath, '..'), join(agent, 'src', 'state'));
  symlinkSync(`${ledgerPath}.key`, join(agent, 'src', 'innocent.txt'));
  symlinkSync(`${ledgerPath}.key`, join(agent, 'bare-link'));
  symlinkSync(contractsPath, join(agent, 'src', 'rules.txt'));
  linkSync(`${ledgerPath}.tokens`, join(agent, 'src', 'hard.txt'));
  linkSync(contractsPath, join(agent, 'src', 'hard-rules.txt'));
  symlinkSync(join(root, 'nowhere'), join(agent, 'src', 'dangling'));
  const contracts = withContracts
    ? await contractsFromYaml(contractsPath, { workingDirectory: agent })
    : undefined;
  const ran: string[] = [];
  const runtime = createRuntime({
    tools: Object.entries(modes).map(([name, mode]) =>
      defineTool({
        name,
        mode,
        description: name,
        input: { type: 'object', additionalProperties: true },
        run: () => {
          ran.push(name);
          return { ok: true };
        },
      }),
    ),
    ledger,
    ownFiles: 'reachable',
    ...(contracts !== undefined && { contracts }),
    // Nothing is held: a refusal here comes from the gate alone.
    treatments: { local: 'run', destructive: 'run' },
  });
  let calls = 0;
  return {
    root,
    agent,
    ledgerPath,
    contractsPath,
    ledger,
    runtime,
    ran,
    call: (tool, input) =>
      runtime
        .turn({ sessionId: `s${++calls}`, timeoutMs: 20_000 })
        .call({ id: `c${calls}`, name: tool, arguments: input }),
    close: async () => {
      await runtime.close();
      await ledger.close();
      contracts?.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
