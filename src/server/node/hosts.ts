/** The hosts on `node:http` and on standard input and output. Bundles for Workers have hosts.worker.ts in place of this file. */
import { assertOptionNames } from '../../protocol/index.ts'
import { HANDLER_OPTIONS, type HandlerOptions } from '../http/endpoint.ts'
import { LISTEN_OPTIONS, type ListenOptions } from '../http/listen.ts'
import { STDIO_OPTIONS, type StdioOptions } from '../stdio/host.ts'

export { reachableHost, readAdvertised } from '../../cluster/index.ts'
export { nodeHandler } from '../http/node.ts'
export { lineLogger } from './lineLogger.ts'
export { isSupervised, listen } from './supervisor.ts'
export { drainOnTerm } from '../lifecycle/processSignals.ts'
export { withRedirectedConsole } from '../stdio/consoleRedirect.ts'
export { serveConnection } from '../stdio/host.ts'

export function assertListenOptions(options: ListenOptions): void {
  assertOptionNames(options, LISTEN_OPTIONS, 'listen')
}

export function assertHandlerOptions(options: HandlerOptions): void {
  assertOptionNames(options, HANDLER_OPTIONS, 'nodeHandler')
}

export function assertStdioOptions(options: StdioOptions): void {
  assertOptionNames(options, STDIO_OPTIONS, 'stdio')
}
