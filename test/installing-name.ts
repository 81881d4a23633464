/** Set by `npm test` if it installs the frameworks while the tests run. */
export const installingName = 'QUITTANCE_TEST_INSTALLING';
