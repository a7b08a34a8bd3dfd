/** The checked servers in a Worker, made by its first request: without nodejs_compat there is no process with variables. */
import { checkedServers, type Given } from './checked.ts'

let fetch: ((request: Request) => Promise<Response>) | undefined

export default {
  fetch(request: Request, { GIVEN }: { readonly GIVEN: string }): Promise<Response> {
    fetch ??= checkedServers(JSON.parse(GIVEN) as Given).fetch
    return fetch(request)
  },
}
