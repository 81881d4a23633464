/** The README of each package: what it is, how to install it, and a tested program. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatText } from './format-text.ts';
import type { Package } from './packages.ts';
import { readPackages } from './packages.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

type Readme = {
  /** More than the description of the manifest says. */
  readonly about?: string;
  /** A file that is a program, or a page whose first program is meant. */
  readonly program?: string;
  readonly commands?: string;
  readonly page: string;
};

const readmes: Readonly<Record<string, Readme>> = {
  quittance: {
    about:
      'Every call ends in exactly one typed outcome, stored before the caller receives it. Ledgers in memory and in one SQLite file are included.',
    program: 'examples/01-first-call.ts',
    page: 'getting-started.md',
  },
  '@quittance/postgres': {
    about: '`quittance` loads this package with the first URL of a PostgreSQL server.',
    program: 'docs/postgres.md',
    page: 'postgres.md',
  },
  '@quittance/server': { program: 'docs/http.md', page: 'http.md' },
  '@quittance/mcp': { program: 'examples/24-mcp-client.ts', page: 'mcp.md' },
  '@quittance/cli': {
    commands: [
      'npx quittance init my-agent # a project that runs',
      'npx quittance serve # the console and the API',
      'npx quittance calls # how each call ended',
      'npx quittance verify # checks that no entry was changed',
    ].join('\n'),
    page: 'command-line.md',
  },
  'create-quittance': { commands: 'npm create quittance my-agent', page: 'getting-started.md' },
  '@quittance/adapter-kit': {
    about: 'Adapters depend on it. Its modules are internal and have no promise of compatibility.',
    page: 'adapters.md',
  },
  '@quittance/react': { program: 'docs/react.md', page: 'react.md' },
  '@quittance/opentelemetry': { program: 'docs/telemetry.md', page: 'telemetry.md' },
};

export async function renderReadmes(): Promise<readonly (readonly [path: string, text: string])[]> {
  const published = readPackages().filter(({ isPrivate }) => !isPrivate);
  return Promise.all(
    published.map(async (each) => {
      const path = `${each.folder}/README.md`;
      return [path, await formatText(path, render(each))] as const;
    }),
  );
}

function render({ name, folder, manifest }: Package): string {
  const short = folder.replace('packages/', '');
  const { about, program, commands, page } = readmes[name] ?? {
    program: `test/frameworks/examples/${short}.ts`,
    page: `adapters/${short}.md`,
  };
  if (!existsSync(join(root, 'docs', page)))
    throw new Error(`${name} names docs/${page}, which does not exist.`);
  const needed = [
    ...(name === 'quittance' || name === 'create-quittance' ? [] : ['quittance']),
    name,
    ...Object.keys(manifest.peerDependencies ?? {}).filter(
      (peer) => !peer.startsWith('@quittance/') && (name !== '@quittance/server' || peer === 'hono'),
    ),
    ...(program !== undefined && programOf(program).includes("from 'zod'") ? ['zod'] : []),
  ];
  const install = name === 'create-quittance' ? '' : `\`\`\`sh\nnpm install ${needed.join(' ')}\n\`\`\`\n`;
  return `<!-- Written by \`npm run docs\` from scripts/render-readmes.ts. -->

# ${name}

${manifest.description}${about === undefined ? '' : ` ${about}`}

${install}
${program === undefined ? '' : programOf(program)}${commands === undefined ? '' : `\`\`\`sh\n${commands}\n\`\`\`\n`}
The handbook is part of the package \`quittance\`: read \`node_modules/quittance/docs/${page}\`. Needs Node 24.16 or newer.
`;
}

function programOf(path: string): string {
  const text = read(path);
  if (path.endsWith('.ts')) return `\`\`\`ts\n${text.trim()}\n\`\`\`\n`;
  const [block] = /^```tsx?\n[^]*?^```$/m.exec(text) ?? [];
  if (block === undefined) throw new Error(`${path} has no program.`);
  return `${block}\n`;
}
