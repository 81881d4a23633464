/** Set by `npm test` when it has just built the package: the processes of tests load the build, which is faster. */
export const builtPackageName = 'QUITTANCE_TEST_BUILT';

/** Can processes that tests start use the built package? */
export const isPackageBuilt = (): boolean => process.env[builtPackageName] !== undefined;

/** Arguments for a Node that imports this package from its sources, by its name or by their paths. */
export const sourceArguments: readonly string[] = [
  '--conditions=quittance-source',
  '--disable-warning=ExperimentalWarning',
];

/** Arguments for a Node that imports this package only by its name: from its sources unless it was just built. */
export const packageArguments = (): readonly string[] =>
  isPackageBuilt() ? sourceArguments.slice(1) : sourceArguments;
