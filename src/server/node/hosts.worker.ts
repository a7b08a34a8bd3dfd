/** In place of hosts.ts where no process listens or reads standard input: Workers and edge functions. */
import type * as hosts from './hosts.ts'

const needsNode = (method: string) => (): never => {
  throw new TypeError(`server.${method}() needs Node, Bun or Deno. Here, serve with server.fetch.`)
}

const replacement: typeof hosts = {
  assertListenOptions: needsNode('listen'),
  assertHandlerOptions: needsNode('nodeHandler'),
  assertStdioOptions: needsNode('stdio'),
  drainOnTerm: needsNode('listen'),
  isSupervised: () => false,
  lineLogger: needsNode('listen'),
  listen: needsNode('listen'),
  nodeHandler: needsNode('nodeHandler'),
  reachableHost: needsNode('listen'),
  readAdvertised: needsNode('listen'),
  serveConnection: needsNode('stdio'),
  withRedirectedConsole: needsNode('stdio'),
}

export const {
  assertListenOptions,
  assertHandlerOptions,
  assertStdioOptions,
  drainOnTerm,
  isSupervised,
  lineLogger,
  listen,
  nodeHandler,
  reachableHost,
  readAdvertised,
  serveConnection,
  withRedirectedConsole,
} = replacement
