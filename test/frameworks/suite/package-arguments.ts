/** Set by `npm test` when it has just built the package: the processes of tests load the build, which is faster. */
export const builtPackageName = 'QUITTANCE_TEST_BUILT';

/** Can processes that tests start use the built package? */
export const isPackageBuilt = (): boolean => process.env[builtPackageName] !== undefined;

/** For processes that do not get the environment of the tests: they share compiled modules with the others too. */
export const compileCache: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    name === 'NODE_COMPILE_CACHE' && value !== undefined ? [[name, value]] : [],
  ),
);

/** Arguments for a Node that imports this package from its sources, by its name or by their paths. */
export const sourceArguments: readonly string[] = ['--conditions=quittance-source'];

/** Arguments for a Node that imports this package only by its name: from its sources unless it was just built. */
export const packageArguments = (): readonly string[] =>
  isPackageBuilt() ? sourceArguments.slice(1) : sourceArguments;
