/** Our gateway, with all its checks. */
import { createGateway, type GatewayOptions, gatewayConfigOf } from 'pannier/gateway'
import { newKey } from 'pannier/state'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const { servers, log, keys = newKey(), namesUsers } = readRole<GatewayRole>()
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const config = await gatewayConfigOf({ mcpServers: servers })
const principal: GatewayOptions['principal'] = ({ header }) => ({ id: header('x-user') ?? 'nobody' })
const gateway = createGateway({
  ...config,
  keys,
  ...(log !== true && { logger: quiet }),
  ...(namesUsers === true && { principal }),
})
const { url } = await gateway.listen({ port: 0 })
await gateway.tried()
serveRequests({}, { port: Number(new URL(url).port) })
