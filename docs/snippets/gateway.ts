// #region gateway
import { createGateway, type Gateway, prometheusMetrics, readGatewayConfig } from 'pannier/gateway'

/** Serves the servers of a file, and gives where. */
export async function serve(file: string, port: number): Promise<{ gateway: Gateway; url: string }> {
  const gateway = createGateway(await readGatewayConfig(file))
  const { url } = await gateway.listen({ port })
  return { gateway, url }
}
// #endregion gateway

// #region metrics
/** Serves health, servers and metrics of a gateway, and gives where. */
export async function serveOperators(gateway: Gateway): Promise<string | undefined> {
  const admin = await gateway.listenAdmin({ metrics: await prometheusMetrics() })
  return admin?.url
}
// #endregion metrics
