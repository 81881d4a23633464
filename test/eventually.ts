// Kept with the suites of the adapters, which `npm run compat` copies without the rest of the tests.
export { eventually } from './frameworks/suite/eventually.ts';
