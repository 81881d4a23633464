import { digestJson } from 'quittance/internal/base/canonical';
import type { JsonValue } from 'quittance/internal/base/json';
import { formatPath } from 'quittance/internal/base/json';
import { openReviewDocuments } from '@quittance/server/internal/mcp-reviews/review-documents';
import { keptPart } from '@quittance/server/internal/mcp-reviews/review-content';
import type { ListedServer, ToolReview } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import { ToolReviews } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import type { ToolWarning } from '@quittance/server/internal/mcp-reviews/tool-warnings';
import { findToolWarnings, toolWarningTexts } from '@quittance/server/internal/mcp-reviews/tool-warnings';
import { diffJson } from 'quittance/internal/replay/diff-json';
import type { ToolMode } from 'quittance/internal/tool/mode';
import { isToolMode, toolModeTreatments } from 'quittance/internal/tool/mode';
import { confirmWith, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Decider, Given, Proof } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { ledgerFile } from '../find-ledger.ts';
import { namesDigest, shortDigest } from '../short-digest.ts';
import type { Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { exactTerminalText, safeJson, terminalText } from '../terminal-text.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

const approveLine = 'quittance mcp review --approve github/list_issues --mode read --digest 1a2b3c4d5e6f';

export const mcpReviewCommand: CliCommand = {
  name: 'mcp review',
  summary: 'Review the tools of MCP servers, and answer what they may do',
  about: [
    'Lists the tools that gateways of this ledger found, with their proposed modes. On a terminal it then asks about every tool without a valid answer. A tool without an answer is held, or runs in observe mode. An answer is bound to the description and schema of the tool and to its server. If one of them changes, the tool is held until it is reviewed again. The command shows the difference.',
    '--approve takes server/tool with --mode and the --digest that was shown. With --ask, a person decides about every call of the tool. It also takes server/* with the digest of the whole server. Every tool without an answer then gets its proposed mode, or --mode. --block takes server/tool with the --digest. The tool then never runs and clients do not see it. It stays blocked if it changes.',
  ],
  options: {
    server: { value: 'NAME', help: 'Only this server' },
    all: { help: 'Show the full text of every tool, also of approved ones' },
    approve: { value: 'SERVER/TOOL', help: 'Answer about one tool, or SERVER/*' },
    mode: { value: 'MODE', help: 'Its mode', choices: Object.keys(toolModeTreatments) },
    ask: { help: 'With --approve: a person decides about every call' },
    block: { value: 'SERVER/TOOL', help: 'Never run this tool, and hide it from clients' },
    digest: { value: 'DIGEST', help: 'Digest of the tool as shown; at least 12 characters' },
    forget: { value: 'SERVER/TOOL', help: 'Remove the answer about a tool' },
    by: { value: 'NAME', help: 'Name of the person who answers; default: the user' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance mcp review', 'list tools, and answer one by one'],
    [`${approveLine} --token-file ada.token`, 'one answer, in a script'],
    ['quittance mcp review --block github/delete_repo --digest 1a2b3c4d5e6f', 'never run this tool'],
    ['quittance mcp review --forget github/create_issue', 'ask again from now on'],
  ],
  effect(given, { person, userName }) {
    const answers = ['approve', 'block', 'forget'].some((name) => given.has(name));
    const asks = !answers && !given.has('json') && person !== undefined;
    return answers || asks
      ? { kind: 'decides', role: 'approver', byDefault: userName, line: approveLine }
      : reads;
  },
  async run(given, context) {
    const { proof } = context;
    return context.withLedger(
      given,
      async (ledger) => {
        const path = ledgerFile(context.ledgerUrl(given));
        const reviews = new ToolReviews(openReviewDocuments(ledger, path), context.now);
        const servers = await listServers(reviews, given);
        if (proof !== undefined && (given.has('approve') || given.has('block')))
          return approve(reviews, servers, given, context, proof);
        if (proof !== undefined && given.has('forget')) return forget(reviews, given, context, proof);
        if (given.has('json')) return printJson(servers, context);
        return review(reviews, servers, given, context, proof);
      },
      proof === undefined ? 'look' : 'write',
    );
  },
};

type Row = ListedServer['tools'][number] & {
  readonly from: ListedServer['server'];
  readonly warnings: readonly ToolWarning[];
};
type Server = {
  /** The name, with a part of the address if several servers have the name. */
  readonly name: string;
  readonly digest: string;
  readonly from: ListedServer['server'];
  readonly rows: readonly Row[];
};

async function listServers(reviews: ToolReviews, given: Given): Promise<readonly Server[]> {
  const found = await reviews.list();
  const all = found.map(({ server: from, tools }) => {
    const isOne = found.filter(({ server }) => server.name === from.name).length === 1;
    return { from, tools, name: isOne ? from.name : `${from.name}#${shortDigest(from.address).slice(0, 6)}` };
  });
  const only = given.text('server');
  const isMeant = ({ name, from }: (typeof all)[number]): boolean =>
    only === undefined || name === only || from.name === only;
  if (!all.some(isMeant) && only !== undefined)
    throw new UsageError(
      `No gateway listed a server ${JSON.stringify(only)}. Known: ${all.map(({ name }) => name).join(', ') || 'none'}.`,
      ['quittance mcp review'],
      exitCodes.bad,
    );
  return all.filter(isMeant).map(({ name, from, tools }) => {
    const others = all.filter((server) => server.from.name !== from.name).flatMap((server) => server.tools);
    const names = new Set(others.map(({ listed }) => listed.name));
    const rows = tools.map((tool) => ({ ...tool, from, warnings: findToolWarnings(tool.listed, names) }));
    return { name, from, rows, digest: digestJson(tools.map(({ review: { digest } }) => digest)) };
  });
}

const columns: readonly Column[] = [
  { title: 'TOOL', min: 16 },
  { title: 'STATE' },
  { title: 'MODE' },
  { title: 'DIGEST' },
  { title: 'NOTICE', optional: 1 },
];

function stateCell(state: ToolReview): string | { readonly text: string; readonly style: 'yellow' } {
  if (state.status === 'approved') return state.asks ? 'asks' : 'approved';
  return state.status === 'blocked' ? 'blocked' : { text: state.status, style: 'yellow' };
}

const isOpen = ({ review: { status } }: Row): boolean => status === 'unknown' || status === 'changed';

/** Lists everything, then asks about each tool without a valid answer. */
async function review(
  reviews: ToolReviews,
  servers: readonly Server[],
  given: Given,
  context: Context,
  /** Undefined without a person to ask. */
  proof: Proof | undefined,
): Promise<ExitCode> {
  const { out, err } = context;
  if (servers.length === 0) {
    await err.say(
      'No gateway listed tools on this ledger yet. Start a client behind Quittance: quittance mcp install --client claude-desktop',
    );
    return exitCodes.good;
  }
  for (const { name, from, rows, digest } of servers) {
    await out.print(
      `${out.paint('bold', terminalText(name))}  ${out.paint('dim', `${terminalText(from.place)}  ${shortDigest(digest)}`)}`,
    );
    const cells = rows.map((row) => [
      terminalText(row.listed.name),
      stateCell(row.review),
      'proposed' in row.review ? `${row.review.proposed}?` : row.review.mode,
      shortDigest(row.review.digest),
      row.warnings.join(' '),
    ]);
    const table = layOutTable(columns, cells, out.width, out.paint);
    await out.print(table.heading());
    for (const cell of cells) await out.print(table.line(cell));
  }
  const rows = servers.flatMap((server) => server.rows);
  const open = rows.filter(isOpen);
  for (const row of given.has('all') ? rows : open) {
    for (const line of toolLines(row, out)) await out.print(line);
    if (proof === undefined || !isOpen(row)) continue;
    const mode = chosenMode(row, given);
    const question = `Approve ${terminalText(`${row.from.name}/${row.listed.name}`)} as ${mode}?`;
    const decider = await proof.confirm({ question, word: mode, always: true });
    if (decider !== undefined) await answer(reviews, row, mode, given, context, decider);
  }
  if (open.length > 0 && proof === undefined)
    await err.say(`${open.length} without an answer. To answer: ${approveLine}`);
  return exitCodes.good;
}

/** Everything that the model reads about a tool, or what changed. Foreign text is shown, never obeyed. */
function* toolLines(
  { from, listed, review: state, warnings, answer: earlier }: Row,
  out: Terminal,
): Generator<string, void> {
  yield '';
  yield out.paint('bold', terminalText(`${from.name}/${listed.name}`));
  for (const warning of warnings) yield out.paint('red', `  ! ${toolWarningTexts[warning]}`);
  if (state.status === 'changed') {
    const by = earlier?.by === undefined ? 'the configuration' : terminalText(earlier.by);
    const when = earlier === undefined ? '' : ` at ${new Date(earlier.at).toISOString()}`;
    yield `  Approved as ${state.mode} by ${by}${when}. ${changeTexts[state.changed]}`;
    // Both come from JSON.
    const [before, after] = [keptPart(state.approved), keptPart(listed)] as unknown as [JsonValue, JsonValue];
    for (const { path, a, b } of diffJson(before, after)) {
      yield out.paint('dim', `  ${exactTerminalText(safeJson(formatPath(path)).slice(1, -1))}`);
      if (a !== undefined) yield out.paint('red', `  - ${exactTerminalText(safeJson(a))}`);
      if (b !== undefined) yield out.paint('green', `  + ${exactTerminalText(safeJson(b))}`);
    }
    return;
  }
  const { name: _, ...parts } = listed;
  for (const [key, part] of Object.entries(parts))
    yield `  ${terminalText(key)}: ${exactTerminalText(safeJson(part))}`;
}

const changeTexts: Readonly<Record<Extract<ToolReview, { status: 'changed' }>['changed'], string>> = {
  tool: 'The tool changed since:',
  server: 'The tool is the same, but its server has another address.',
};

async function approve(
  reviews: ToolReviews,
  servers: readonly Server[],
  given: Given,
  context: Context,
  proof: Proof,
): Promise<ExitCode> {
  const blocks = given.has('block');
  if (blocks && (given.has('approve') || given.has('ask')))
    throw new UsageError('A tool is either approved or blocked: use --block alone.', [approveLine]);
  const { server, tool } = readName(given.text('block') ?? given.text('approve') ?? '', servers);
  const typed = given.text('digest');
  if (typed === undefined)
    throw new UsageError('An answer needs the --digest of what was shown: --digest is missing.', [
      'quittance mcp review',
      approveLine,
    ]);
  const isAll = tool === '*' && !blocks;
  const rows = isAll ? server.rows.filter(isOpen) : server.rows.filter(({ listed }) => listed.name === tool);
  const digest = isAll ? server.digest : rows[0]?.review.digest;
  if (digest === undefined)
    throw new UsageError(
      `${server.name} has no tool ${JSON.stringify(tool)}.`,
      ['quittance mcp review'],
      exitCodes.bad,
    );
  if (!namesDigest(typed, digest))
    throw new UsageError(
      'The digest is not that of the tools as they are now. Look at them again before you answer.',
      [`quittance mcp review --server ${server.name}`],
      exitCodes.bad,
    );
  if (!isAll && !blocks && !given.has('mode'))
    throw new UsageError('An answer needs a mode: --mode is missing.', [approveLine]);
  const decider = await confirmWith(proof, {
    question: `${blocks ? 'Block' : 'Approve'} ${terminalText(`${server.name}/${tool}`)}?`,
    word: blocks ? 'block' : 'approve',
    line: approveLine,
  });
  for (const row of rows) await answer(reviews, row, chosenMode(row, given), given, context, decider);
  return exitCodes.good;
}

function chosenMode({ review: state }: Row, given: Given): ToolMode {
  const mode = given.text('mode');
  if (isToolMode(mode)) return mode;
  return 'proposed' in state ? state.proposed : state.mode;
}

async function answer(
  reviews: ToolReviews,
  { from: { name: server, address }, listed, review: { digest } }: Row,
  mode: ToolMode,
  given: Given,
  { out }: Context,
  { by, identity }: Decider,
): Promise<void> {
  const verdict = given.has('block') ? 'block' : given.has('ask') ? 'ask' : 'allow';
  await reviews.approve({ server, address, tool: listed.name, digest, verdict, mode, by, identity });
  const name = terminalText(`${server}/${listed.name}`);
  if (given.has('json')) await out.print(safeJson({ server, tool: listed.name, digest, verdict, mode, by }));
  else if (verdict === 'block') await out.say(`Blocked: ${name} never runs.`);
  else await out.say(`Approved: ${name} as ${mode}.${verdict === 'ask' ? ' Every call asks.' : ''}`);
}

async function forget(reviews: ToolReviews, given: Given, { out }: Context, proof: Proof): Promise<ExitCode> {
  const typed = given.text('forget') ?? '';
  const decider = await confirmWith(proof, {
    question: `Forget the answer about ${terminalText(typed)}?`,
    word: 'forget',
    line: 'quittance mcp review --forget SERVER/TOOL',
  });
  const [server = '', tool = ''] = typed.split(/\/(.*)/s, 2);
  const found = await reviews.forget({ server, tool, ...decider });
  if (!found)
    throw new UsageError(
      `There is no answer about ${JSON.stringify(typed)}.`,
      ['quittance mcp review'],
      exitCodes.bad,
    );
  await out.say(`Forgotten: ${terminalText(typed)} is held from now on.`);
  return exitCodes.good;
}

/** Names may hold slashes, so the server is found by its name. */
function readName(
  typed: string,
  servers: readonly Server[],
): { readonly server: Server; readonly tool: string } {
  const server = servers
    .filter(({ name }) => typed.startsWith(`${name}/`))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  if (server !== undefined) return { server, tool: typed.slice(server.name.length + 1) };
  throw new UsageError(
    `${JSON.stringify(typed)} names no tool. Write SERVER/TOOL; servers: ${servers.map(({ name }) => name).join(', ') || 'none'}.`,
    ['quittance mcp review'],
    exitCodes.bad,
  );
}

async function printJson(servers: readonly Server[], { out }: Context): Promise<ExitCode> {
  for (const { name, digest, rows } of servers)
    for (const { listed, review: state, warnings, answer: earlier } of rows)
      await out.print(
        safeJson({
          server: name,
          serverDigest: digest,
          tool: listed.name,
          ...state,
          ...(earlier?.by !== undefined && { approvedBy: earlier.by }),
          warnings,
          listed,
        }),
      );
  return exitCodes.good;
}
