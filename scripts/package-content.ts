/** The content of a package: running code, its declarations, and a README. */
import type { Package } from './packages.ts';

/** One package as `npm pack --json` describes it. Sizes are in bytes. */
export type PackedPackage = {
  readonly name: string;
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
};

/** Files that a package must contain besides its doors. Without them it was packed before it was built. */
const wanted: Readonly<Record<string, readonly string[]>> = {
  quittance: [
    'docs/getting-started.md',
    'schema/contracts.schema.json',
    'templates/coding-agent.yaml',
    'dist/writer-thread.js',
  ],
  '@quittance/server': ['dist/console/index.html', 'dist/job-task.js'],
  '@quittance/cli': ['dist/main.js', 'deploy/Dockerfile'],
  '@quittance/react': ['src/react.css'],
};

const unwanted: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^dist\/console\/.*\.map$/, 'is a source map of a page'],
  // The icon of the installed console, 2 kB: phones of one maker take no other format.
  [
    /^(?!dist\/console\/apple-touch-icon\.png$).*\.(?:png|jpe?g|gif|webp|avif|woff2?|ttf|otf)$/,
    'is an image or a font',
  ],
  [/^src\/(?!react\.css$)/, 'is source: the source maps contain it'],
  // Projects that `quittance init` writes have tests of their own.
  [/^(?!templates\/projects\/).*\.test(?:-d)?\./, 'is a test'],
];

/** Every reason not to publish the package. Empty if it can be published. */
export function findContentProblems(
  { name, doors }: Pick<Package, 'name' | 'doors'>,
  { files }: Pick<PackedPackage, 'files'>,
): readonly string[] {
  const paths = new Set(files.map(({ path }) => path));
  const needed = [
    'README.md',
    'LICENSE',
    ...doors.flatMap(({ built }) => [`dist/${built}.js`, `dist/${built}.d.ts`]),
    ...(wanted[name] ?? []),
  ];
  return [
    ...needed
      .filter((path) => !paths.has(path))
      .map((path) => `${path} is missing. Build first: npm run build`),
    ...files.flatMap(({ path }) =>
      unwanted.filter(([pattern]) => pattern.test(path)).map(([, why]) => `${path} ${why}.`),
    ),
  ];
}
