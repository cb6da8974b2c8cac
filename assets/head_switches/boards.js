// The boards of head switches, and the names of the heads in the URL.

/**
 * The switches for all heads of one attention kind. `picture` contains the maps of these heads; each switch shows its
 * head's part of the picture.
 * @typedef {{ kind: string, title: string, layers: number, heads: number, picture: string }} Board
 */

/**
 * Returns the head names in one layer of a board.
 * @param {Board} board
 * @param {number} layer
 */
export function headNamesOfRow({ kind, heads }, layer) {
  return Array.from({ length: heads }, (_, head) => `${kind}.${layer + 1}.${head + 1}`);
}

/**
 * Returns the names of all heads on a board.
 * @param {Board} board
 */
export function headNamesOf(board) {
  return Array.from({ length: board.layers }, (_, layer) => headNamesOfRow(board, layer)).flat();
}
