/** Starts the server over HTTP and the gateway in one process, for `npm run dev`. */
import './servers/releases.ts'
import { createGateway, readGatewayConfig } from 'pannier/gateway'

const gateway = createGateway(await readGatewayConfig('mcp.json'))
const { url } = await gateway.listen({ port: Number(process.env['GATEWAY_PORT'] ?? 8931) })
console.log(`Listening at ${url}`)
