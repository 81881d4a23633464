/** The content of the package: running code, its declarations, and the text of the handbook. */

/** One package as `npm pack --json` describes it. Sizes are in bytes. */
export type PackedPackage = {
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
};

/** Files that every package must contain. Without them it was packed before it was built. */
const wanted: readonly string[] = [
  'dist/index.js',
  'dist/index.d.ts',
  'dist/react.d.ts',
  'dist/cli.js',
  'dist/console/index.html',
  'docs/getting-started.md',
  'packages/quittance/schema/contracts.schema.json',
  'packages/react/src/react.css',
  'packages/quittance/templates/coding-agent.yaml',
];

const unwanted: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^dist\/console\/.*\.map$/, 'is a source map of a page'],
  // The icon of the installed console, 2 kB: phones of one maker take no other format.
  [
    /^(?!dist\/console\/apple-touch-icon\.png$).*\.(?:png|jpe?g|gif|webp|avif|woff2?|ttf|otf)$/,
    'is an image or a font',
  ],
  [/^src\/(?!react\/react\.css$)/, 'is source: the package ships what is built from it'],
  // Projects that `quittance init` writes have tests of their own.
  [/^(?!templates\/projects\/).*\.test(?:-d)?\./, 'is a test'],
];

/** Every reason not to publish the package. Empty if it can be published. */
export function findContentProblems({ files }: PackedPackage): readonly string[] {
  const paths = new Set(files.map(({ path }) => path));
  return [
    ...wanted
      .filter((path) => !paths.has(path))
      .map((path) => `${path} is missing. Build first: npm run build`),
    ...files.flatMap(({ path }) =>
      unwanted.filter(([pattern]) => pattern.test(path)).map(([, why]) => `${path} ${why}.`),
    ),
  ];
}

/** The largest parts, unpacked: one line each. */
export function listParts({ files }: PackedPackage): readonly string[] {
  const parts = new Map<string, number>();
  for (const { path, size } of files) {
    const part = `${/^(?:dist\/console|[^/]+\/|[^/]+$)/.exec(path)?.[0] ?? path} ${/(?:\.d)?\.\w+$/.exec(path)?.[0] ?? ''}`;
    parts.set(part, (parts.get(part) ?? 0) + size);
  }
  return [...parts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 8)
    .map(([part, bytes]) => `${String(bytes).padStart(9)}  ${part}`);
}
