import { StateError } from '../state/index.ts'

/** What our things are called in a database. The names of schemas are quoted, ready to stand in a statement. */
export interface SchemaNames {
  /** The schema of our tables. */
  readonly tables: string
  /** The schema of pg-boss. */
  readonly jobs: string
  /** Where processes tell each other what has changed. Channels belong to the whole database. */
  readonly channel: string
}

// What PostgreSQL and pg-boss both take between quotes, and short enough that nothing is cut off.
const USABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/

export function schemaNames(schema: string): SchemaNames {
  if (typeof schema !== 'string' || !USABLE.test(schema)) {
    throw new StateError(
      'STATE_OPTION',
      'schema is a name of at most 40 letters, digits, _ and -, and does not begin with a digit or -.',
    )
  }
  return { tables: `"${schema}"`, jobs: `"${schema}_jobs"`, channel: `${schema}_bell` }
}
