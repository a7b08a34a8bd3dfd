// #region gateway
import { createGateway, type Gateway, readGatewayConfig } from 'pannier/gateway'

/** Serves the servers of a file, and gives where. */
export async function serve(file: string, port: number): Promise<{ gateway: Gateway; url: string }> {
  const gateway = createGateway(await readGatewayConfig(file))
  const { url } = await gateway.listen({ port })
  return { gateway, url }
}
// #endregion gateway
