/**
 * Property tests try the same values in every run, so a run fails only if the code changed. To search for new
 * counterexamples: `QUITTANCE_SEED=random npm run test:run -- src`.
 */
import fc from 'fast-check';

const seed = process.env['QUITTANCE_SEED'];
if (seed !== 'random') fc.configureGlobal({ seed: seed === undefined ? 20_261_119 : Number(seed) });
