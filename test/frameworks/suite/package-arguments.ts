/** Set by `npm test` when it has just built the package: the processes of tests load the build, which is faster. */
export const builtPackageName = 'QUITTANCE_TEST_BUILT';

/** Can processes that tests start use the built package? */
export const isPackageBuilt = (): boolean => process.env[builtPackageName] !== undefined;

/** Arguments for a Node that imports this package by its name: from its sources unless it was just built. */
export const packageArguments = (): readonly string[] => [
  ...(isPackageBuilt() ? [] : ['--conditions=quittance-source']),
  '--disable-warning=ExperimentalWarning',
];
