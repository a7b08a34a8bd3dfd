/** The columns of a terminal. Some say that they have none, or nothing at all. */
export function screenWidth({ columns }: { readonly columns?: number }): number {
  return columns === undefined || columns === 0 ? 80 : columns
}
