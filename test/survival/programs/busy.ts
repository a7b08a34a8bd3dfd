/** Keeps a core busy until whoever started it closes its standard input. */
process.stdin.on('end', () => process.exit()).resume()

function spin(): void {
  const until = performance.now() + 20
  while (performance.now() < until);
  setImmediate(spin)
}
spin()
