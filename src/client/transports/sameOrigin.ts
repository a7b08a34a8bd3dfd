import type { FetchLike } from '@modelcontextprotocol/client'

const MAX_HOPS = 3

/**
 * Follows redirects within one origin, such as from `/mcp` to `/mcp/`, and no others: headers, tokens and state belong
 * to the server that was named. Another origin gets nothing; its redirect comes back as the answer.
 */
export function sameOrigin(fetch: FetchLike): FetchLike {
  return async (input, init) => {
    let url = new URL(input)
    for (let hop = 0; ; hop++) {
      const response = await fetch(url, { ...init, redirect: 'manual' })
      const next = nextUrl(response, url)
      if (next === undefined || next.origin !== url.origin || hop === MAX_HOPS) return response
      await response.body?.cancel()
      url = next
    }
  }
}

/** Only 307 and 308 keep the method and the body; a call that became a GET would not be the same call. */
function nextUrl({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get('location')
  if ((status !== 307 && status !== 308) || location === null || !URL.canParse(location, from)) return undefined
  return new URL(location, from)
}
