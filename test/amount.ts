/**
 * Tests that prove by mass have two forms. `npm test` runs the short one, `npm run test:long` the long one: the same
 * test with the same assertions, only with more repetitions. CONTRIBUTING.md lists them.
 */
export const isLong = process.env['PANNIER_TESTS'] === 'long'

/** How often something is repeated. */
export function amount(short: number, long: number): number {
  return isLong ? long : short
}

/** The rows of a table: in the short form only so many of the first. */
export function rows<Row>(table: readonly Row[], short: number): readonly Row[] {
  return table.slice(0, amount(short, table.length))
}
