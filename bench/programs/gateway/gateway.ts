/** Our gateway, with all its checks. */
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { newKey } from 'pannier/state'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const { servers, log } = readRole<GatewayRole>()
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const config = await gatewayConfigOf({ mcpServers: servers })
const gateway = createGateway({ ...config, keys: newKey(), ...(log !== true && { logger: quiet }) })
const { url } = await gateway.listen({ port: 0 })
await gateway.tried()
serveRequests({}, { port: Number(new URL(url).port) })
