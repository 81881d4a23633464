import type { PostgresPackage } from 'quittance/internal/store/postgres-package';
import type * as door from './index.ts';

/** The core loads this door by its name, so the compiler must compare the two here. */
export const asTheCoreLoadsIt = (loaded: typeof door): PostgresPackage => loaded;
