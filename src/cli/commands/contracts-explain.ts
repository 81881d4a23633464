import { resolve } from 'node:path';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { CallToJudge } from '../../contracts/loaded-contracts.ts';
import type { ToolEnd } from '../../policy/judge/compile-policy.ts';
import type { ContractsProblem } from '../../policy/language/contracts-problem.ts';
import { nodeFromJson } from '../../policy/read/document-node.ts';
import { DocumentReader } from '../../policy/read/document-reader.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { readPrincipal } from '../contracts-case.ts';
import { explanationLines, explanationToJson } from '../explanation-lines.ts';
import { loadOrExplain, needFiles } from '../load-or-explain.ts';
import { readLedgerCall } from '../ledger-calls.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const contractsExplainCommand: CliCommand = {
  name: 'contracts explain',
  summary: 'Explain how contracts decide one call',
  takes: '<file>…',
  most: Number.POSITIVE_INFINITY,
  about: [
    'Prints every evaluated rule and whether it fired. For a condition it shows the fields and their values, with secrets masked. For a sandbox rule it shows the paths, commands and hosts found in the call; for a limit, the remaining amount. The decision comes last.',
    'Type the call, or take it from a ledger with --call. A call from a ledger is evaluated in its stored form: rules see the mask of a redacted argument. Workflows are evaluated as at the start of a session.',
  ],
  options: {
    tool: { value: 'NAME', help: 'Tool to call' },
    args: { value: 'JSON', help: 'Arguments of the call' },
    principal: {
      value: 'JSON',
      help: 'Principal of the call: user_id, service_id, org_id, role, ticket_ref, claims',
    },
    metadata: { value: 'JSON', help: 'Metadata of the call' },
    result: { value: 'JSON', help: 'Output of the tool, for post rules' },
    environment: { value: 'WORD', help: 'Environment that rules see; default: production' },
    'working-directory': {
      value: 'PATH',
      help: 'Folder that relative paths start from; default: unknown',
      file: true,
    },
    call: { value: 'ID', help: 'Call from a ledger instead' },
    session: { value: 'ID', help: 'Session of that call, if several sessions have this call id' },
    json: { help: 'JSON instead of text, one object' },
  },
  examples: [
    [
      `quittance contracts explain contracts.yaml --tool Bash --args '{"command": "rm -rf build"}'`,
      'a call that was never made',
    ],
    ['quittance contracts explain contracts.yaml --call call_7 --session ticket-42', 'a call of the ledger'],
    [
      `quittance contracts explain contracts.yaml --tool Read --args '{"path": "a.txt"}' --result '"AKIA…"'`,
      'a call and its output',
    ],
  ],
  effect: reads,
  run: async (given, context) => {
    const paths = needFiles(given.args, 'contracts explain');
    const directory = given.text('working-directory');
    const environment = given.text('environment');
    const contracts = await loadOrExplain(paths, {
      ...(directory !== undefined && { workingDirectory: resolve(directory) }),
      ...(environment !== undefined && { environment }),
    });
    const { call, end, hidden } = given.has('call') ? await fromLedger(given, context) : typed(given, paths);
    const explanation = await contracts.explain(call, { end });
    if (given.has('json')) await context.out.print(safeJson(explanationToJson(explanation, call)));
    else {
      for (const line of explanationLines(explanation, call, context.out)) await context.out.print(line);
      if (hidden)
        await context.err.say('Some arguments of this call are redacted in the ledger: rules saw the masks.');
    }
    return exitCodes.good;
  },
};

type Asked = { readonly call: CallToJudge; readonly end: ToolEnd | undefined; readonly hidden: boolean };

function typed(given: Given, paths: readonly string[]): Asked {
  const toolName = given.text('tool');
  if (toolName === undefined)
    throw new UsageError('Missing call: name a tool, or take a call from a ledger.', [
      `quittance contracts explain ${paths.join(' ')} --tool Bash --args '{"command": "ls"}'`,
      `quittance contracts explain ${paths.join(' ')} --call ID --ledger PATH`,
    ]);
  const metadata = objectOf(given, 'metadata');
  const principal = principalOf(given);
  const result = jsonOf(given, 'result');
  return {
    call: {
      toolName,
      input: objectOf(given, 'args') ?? {},
      ...(principal !== undefined && { principal }),
      ...(metadata !== undefined && { metadata }),
    },
    end: result === undefined ? undefined : { type: 'result', value: result },
    hidden: false,
  };
}

async function fromLedger(given: Given, context: Context): Promise<Asked> {
  const clash = ['tool', 'args', 'principal', 'metadata', 'result'].find((name) => given.has(name));
  if (clash !== undefined)
    throw new UsageError(`--call takes everything from the ledger; --${clash} does not go with it.`, [
      `quittance contracts explain ${given.args.join(' ')} --call ${given.text('call') ?? 'ID'}`,
    ]);
  return context.withLedger(given, async (ledger) => {
    const command = `contracts explain ${given.args.join(' ')} --call`;
    const { sessionId, callId } = await findCall(
      ledger,
      given.text('call') ?? '',
      given.text('session'),
      command,
    );
    const found = await readLedgerCall(ledger, sessionId, callId);
    if (found === undefined)
      throw new UsageError(
        `The arguments of call ${JSON.stringify(terminalId(callId))} are not an object, so no rule was evaluated.`,
        [`quittance show ${callId}`],
        exitCodes.bad,
      );
    return found;
  });
}

function jsonOf(given: Given, option: string): JsonValue | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new UsageError(`--${option} takes JSON; found ${JSON.stringify(text)}.`, [
      option === 'result' ? `--result '"some text"'` : `--${option} '{"name": "value"}'`,
    ]);
  }
}

function objectOf(given: Given, option: string): JsonObject | undefined {
  const value = jsonOf(given, option);
  if (value === undefined || isJsonObject(value)) return value;
  throw new UsageError(`--${option} takes a JSON object; found ${JSON.stringify(value)}.`, [
    `--${option} '{"name": "value"}'`,
  ]);
}

function principalOf(given: Given): CallToJudge['principal'] {
  const value = objectOf(given, 'principal');
  if (value === undefined) return undefined;
  const problems: ContractsProblem[] = [];
  const reading = { source: '--principal', locate: () => ({ line: 1, column: 1 }), problems };
  const principal = readPrincipal(new DocumentReader(nodeFromJson(value), reading));
  const [problem] = problems;
  if (problem !== undefined)
    throw new UsageError(`--principal: ${problem.message}`, [
      `--principal '{"user_id": "ada", "role": "admin"}'`,
    ]);
  return principal;
}
