/**
 * The number of random cases that a test tries. Each run tries others. `QUITTANCE_TEST_ROUNDS=20 npx vitest run FILE`
 * tries twenty times as many.
 */
export const rounds = (count: number): number => count * Number(process.env['QUITTANCE_TEST_ROUNDS'] ?? '1');
