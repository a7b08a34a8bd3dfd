/** A Pannier server in a Cloudflare Worker, with the flag `nodejs_compat` and the secret PANNIER_KEYS. */
// #region worker
import { restaurant } from './restaurant.ts'

const server = restaurant() // a function that calls createServer and adds tools

export default { fetch: server.fetch }
// #endregion worker
