/** The JSON Schemas of the HTTP API, read from the types in packages/server/src/http/api. */
import { readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';
import { routes } from '../packages/server/src/http/routes.ts';
import { formatText } from './format-text.ts';
import { limits } from '../packages/quittance/src/call/limits.ts';
import { TypeSchemas, createTypeProgram, exportsOf } from './type-schemas.ts';

const root = join(import.meta.dirname, '..');
const core = join(root, 'packages/quittance/src');
const folder = join(root, 'packages/server/src/http/api');
const output = 'packages/server/src/http/api-schemas.ts';

/** These types, folders and files belong to the API: their schemas are complete and refuse unknown fields. */
const described = [
  folder,
  ...[
    'runtime/views.ts#GrantView',
    'runtime/delegations.ts',
    'call/delegation.ts',
    'runtime/claim-handoff.ts',
    'runtime/report-handoff.ts',
    'ledger/call-query.ts',
    'ledger/chain.ts',
  ].map((path) => join(core, path)),
  join(core, 'call/events/gate-event.ts'), // Provenance
];

/** Types whose fields depend on the version that wrote them, or that the runtime checks itself. */
const given = {
  ReadEvent: {
    type: 'object',
    description: 'An event of the ledger, redacted. The schema of events describes its fields.',
    properties: {
      id: { type: 'string' },
      type: { type: 'string' },
      sessionId: { type: 'string' },
      at: { type: 'number' },
    },
    required: ['id', 'type', 'sessionId', 'at'],
  },
  HandoffReport: {
    type: 'object',
    description:
      '`{ output }`, `{ error, code, retryable, effect, extras }`, or a tool result with a boolean `success`.',
  },
};

/** Doc comments are kept for requests only: the package must stay small, and its declarations have all of them. */
const requests = new Set<string | undefined>(routes.flatMap(({ query, body }) => [query, body]));

const answers = new Set<unknown>(routes.map(({ answer }) => answer));

const withoutTexts = (schema: object): string =>
  JSON.stringify(schema, (key, value: unknown) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  );

export async function renderApi(): Promise<ReadonlyMap<string, string>> {
  const files = readdirSync(folder).map((file) => join(folder, file));
  const program = createTypeProgram(files);
  const schemas = new TypeSchemas(program, {
    refPrefix: '#/components/schemas/',
    given,
    numbers: { limits },
    isDescribed: (property) => property === undefined || described.some((path) => isIn(path, property)),
    isDocumented: (property) => property !== undefined && isIn(folder, property),
  });
  for (const file of files) for (const type of exportsOf(program, file)) schemas.define(type);
  const names = Object.keys(schemas.definitions).filter(
    (name) => answers.has(name) || schemas.files[name]?.startsWith(folder),
  );
  const imports = new Set(names.map((name) => schemas.files[name] ?? ''));
  const text = `/** The schemas of the types in packages/server/src/http/api. \`npm run docs\` writes this file: change the types instead. */
import type { JsonObject } from 'quittance/internal/base/json';
${[...imports].map((file) => `import type * as ${moduleName(file)} from '${importPath(file)}';`).join('\n')}

/** The types of the API by the name of their schema. */
export type ApiTypes = {
${names.map((name) => `readonly ${name}: ${moduleName(schemas.files[name] ?? '')}.${name};`).join('\n')}
};

// oxfmt-ignore
export const apiSchemas: Readonly<Record<string, JsonObject>> = {
${Object.entries(schemas.definitions)
  .map(
    ([name, schema]) => `  ${name}: ${requests.has(name) ? JSON.stringify(schema) : withoutTexts(schema)},`,
  )
  .join('\n')}
};
`;
  return new Map([[output, await formatText(output, text)]]);
}

/** `api/call.ts` is `call`. */
const moduleName = (file: string): string =>
  basename(file, '.ts').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const importPath = (file: string): string =>
  file.startsWith(folder)
    ? `./api/${basename(file)}`
    : `quittance/internal/${relative(core, file).replace(/\.ts$/, '')}`;

/** `path#Type` is one type of a file. */
function isIn(place: string, declaration: ts.Declaration): boolean {
  const [path = '', type] = place.split('#');
  if (!declaration.getSourceFile().fileName.startsWith(path)) return false;
  if (type === undefined) return true;
  for (let node: ts.Node = declaration; node !== undefined; node = node.parent)
    if (ts.isTypeAliasDeclaration(node) && node.name.text === type) return true;
  return false;
}
