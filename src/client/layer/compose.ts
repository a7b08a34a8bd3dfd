/**
 * Layers in one, the outermost first: `compose(a, b)(transport)` is `a(b(transport))`.
 *
 * The order that makes sense, from the client to the wire, and why:
 *
 *     rounds   begins new requests, so every other layer must see them
 *     tasks    the same, for calls that go on as tasks
 *     scope    judges what the server asks by the requests that are really under way
 *     jar      sends state with each of these requests, and takes it from each result, interim ones too
 *     deadline sees each message when it really goes and comes; above it a result may still wait for its state
 *     modern   writes requests in the stateless form; above it everything looks like a session
 *     echo     belongs to the wire: around `fetch`, on the lines of a process, or, last of the layers, in `_meta`
 */
import type { Layer } from './transport.ts'

export function compose(...layers: readonly Layer[]): Layer {
  return (transport) => layers.reduceRight((inner, layer) => layer(inner), transport)
}
