/** A Pannier server in Bun. Start it with `bun --conditions=pannier-source examples/mount/bun.ts`. */
// #region bun
import { restaurant } from './restaurant.ts'

const server = restaurant() // a function that calls createServer and adds tools

// By default Bun ends connections on which nothing is sent for ten seconds, also those of calls that take longer.
export default { fetch: server.fetch, idleTimeout: 0 }

// Calls under way finish, or another instance continues them, before the process ends.
process.once('SIGTERM', () => void server.drain().then(() => process.exit()))
// #endregion bun
