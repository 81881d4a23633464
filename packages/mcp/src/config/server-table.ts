/** Finds the servers in a configuration: each client keeps them under another key. */
import type { Node } from 'jsonc-parser';
import { findNodeAtLocation } from 'jsonc-parser';
import { safeText } from 'quittance/internal/base/safe-text';
import { valueAt } from 'quittance/internal/tool/json-edit';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { isTable } from './config-document.ts';

export type ServerRow = {
  readonly name: string;
  /** Where the entry is in the document. */
  readonly path: ConfigPath;
  readonly entry: ConfigTable;
};

export type ServerTable = {
  /** VS Code keeps its servers under `servers`, and asks for `inputs`. */
  readonly dialect: 'mcpServers' | 'vscode' | 'codex';
  readonly rows: readonly ServerRow[];
  readonly inputs: unknown;
};

type Place = { readonly path: ConfigPath; readonly dialect: ServerTable['dialect'] };

/**
 * The servers of a document. `project`: the folder whose servers in `~/.claude.json` count too; they win over those
 * for all projects.
 */
export function findServers(document: ConfigDocument, project: string | undefined): ServerTable {
  return gather(document, (folder) => folder === project);
}

/** The same with the servers of all projects, so a name may occur more than once. */
export const findAllServers = (document: ConfigDocument): ServerTable => {
  const { dialect, inputs } = gather(document, () => false);
  const rows = findPlaces(document, () => true).flatMap(({ path }) => rowsAt(document, path));
  return { dialect, inputs, rows };
};

function gather(document: ConfigDocument, isWanted: (project: string) => boolean): ServerTable {
  const places = findPlaces(document, isWanted);
  const rows = new Map<string, ServerRow>();
  for (const { path } of places) for (const row of rowsAt(document, path)) rows.set(row.name, row);
  const { path = [], dialect = 'mcpServers' } = places[0] ?? {};
  const inputs = dialect === 'vscode' ? valueAt(document.root, [...path.slice(0, -1), 'inputs']) : [];
  return { dialect, rows: [...rows.values()], inputs };
}

/** Does the file list servers of any client? */
export const hasServers = (document: ConfigDocument): boolean =>
  knownPlaces(document).length > 0 || (document.format === 'json' && isTable(document.root['projects']));

function knownPlaces({ root, format }: ConfigDocument): Place[] {
  const known: readonly Place[] =
    format === 'toml'
      ? [{ path: ['mcp_servers'], dialect: 'codex' }]
      : [
          { path: ['mcpServers'], dialect: 'mcpServers' },
          { path: ['servers'], dialect: 'vscode' },
          { path: ['mcp', 'servers'], dialect: 'vscode' },
        ];
  return known.filter(({ path }) => valueAt(root, path) !== undefined);
}

function findPlaces(document: ConfigDocument, isWanted: (project: string) => boolean): readonly Place[] {
  const { root, format } = document;
  const places = knownPlaces(document);
  const [first, second] = places;
  if (second !== undefined)
    throw document.problem(second.path, 'is a second list of servers.', 'Keep one of the lists.');
  // The file of the user of Claude Code. A key such as "projects" means nothing elsewhere.
  const { projects } = root;
  if (format === 'json' && isTable(projects) && (first === undefined || first.dialect === 'mcpServers')) {
    for (const project of Object.keys(projects)) {
      const path = ['projects', project, 'mcpServers'];
      if (isWanted(project) && valueAt(root, path) !== undefined)
        places.push({ path, dialect: 'mcpServers' });
    }
    return places;
  }
  if (places.length > 0) return places;
  throw document.problem(
    [],
    'The file has no servers:',
    'expected the key "mcpServers" or "servers", or [mcp_servers.NAME] in TOML.',
  );
}

function rowsAt(document: ConfigDocument, path: ConfigPath): ServerRow[] {
  const servers = valueAt(document.root, path);
  if (!isTable(servers)) throw document.problem(path, 'is not an object.', 'Write one key for each server.');
  refuseTwins(document, path);
  return Object.entries(servers).map(([name, entry]) => {
    const place = [...path, name];
    if (name === '' || name.length > 100 || name === '__proto__' || safeText(name) !== name)
      throw document.problem(
        path,
        'has a server whose name cannot be used.',
        'Use up to 100 visible characters.',
      );
    if (!isTable(entry))
      throw document.problem(place, 'is not an object.', 'Give it a "command" or a "url".');
    return { name, path: place, entry };
  });
}

/** Refuses an object with two equal keys: each program would read another one of them. */
function refuseTwins(document: ConfigDocument, path: ConfigPath): void {
  const node = document.tree && findNodeAtLocation(document.tree, [...path]);
  const visit = ({ type, children = [] }: Node): void => {
    const seen = new Set<unknown>();
    for (const child of children) {
      const [key] = type === 'object' ? (child.children ?? []) : [];
      if (key !== undefined && seen.has(key.value))
        throw document.problem(path, 'has the same key twice within it.', 'Remove one of the two.');
      seen.add(key?.value);
      visit(child);
    }
  };
  if (node !== undefined) visit(node);
}
