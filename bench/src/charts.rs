//! Charts as SVG, for light and dark pages.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::growth::Curve;
use crate::row::Row;

/// The rows of the chart of calls begin like this, and end with the name of the other side.
const CALLS: &str = "guard, 1 KB: ";

const WIDTH: f64 = 720.0;
/// The distance between two bars.
const BAR: f64 = 30.0;
/// The size of a small chart, and the margins around its lines.
const PANEL: (f64, f64) = (360.0, 240.0);
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 46.0;

/// The colors. A chart has a background of its own: the theme of a book need not be that of the system.
const STYLE: &str = "\
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.small { font-size: 11px; fill: #57606a }
.page { fill: #ffffff }
.grid { stroke: #d8dee4 }
.bar { fill: #8c959f }
.a { fill: #0969da; stroke: #0969da }
.b { fill: #bc4c00; stroke: #bc4c00 }
.line { fill: none; stroke-width: 2 }
text.a, text.b, rect.a { stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.small { fill: #9198a1 }
.page { fill: #0d1117 }
.grid { stroke: #30363d }
.bar { fill: #6e7681 }
.a { fill: #4493f8; stroke: #4493f8 }
.b { fill: #f0883e; stroke: #f0883e }
.line { fill: none }
text.a, text.b, rect.a { stroke: none }
}
</style>
";

/// Writes the charts of the page about performance, `calls.svg` and `growth.svg`.
pub(crate) fn write(directory: &Path, rows: &[Row], curves: &[Curve]) {
    let calls: Vec<(&str, &Row)> =
        rows.iter().filter_map(|row| row.name.strip_prefix(CALLS).zip(Some(row))).collect();
    let ours = calls.first().map(|(_, row)| ("hookbox".to_owned(), row.ours));
    let theirs = calls.iter().filter_map(|(name, row)| Some(((*name).to_owned(), row.theirs?)));
    let mut values: Vec<(String, f64)> = ours.into_iter().chain(theirs).collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    let calls =
        bars("One call of a guard, input of 1 KB", "µs, logarithmic scale: shorter is faster", &values);
    for (name, svg) in [("calls.svg", calls), ("growth.svg", lines(curves))] {
        fs::write(directory.join(name), svg).unwrap();
    }
}

/// Draws bars with a logarithmic scale. Those whose label begins with `hookbox` stand out.
fn bars(title: &str, unit: &str, values: &[(String, f64)]) -> String {
    let (left, top, right) = (200.0, 80.0, 80.0);
    let height = top + values.len() as f64 * BAR + 12.0;
    let x = Scale::decades(values.iter().map(|(_, value)| *value), left, WIDTH - right);
    let mut svg = start(height, &format!("{title}: {unit}"));
    text(&mut svg, 16.0, 24.0, "class=\"title\"", title);
    text(&mut svg, 16.0, 44.0, "class=\"small\"", unit);
    for tick in x.ticks() {
        let at = x.at(tick);
        rule(&mut svg, (at, top - 4.0), (at, height - 12.0));
        text(&mut svg, at, top - 10.0, "class=\"small\" text-anchor=\"middle\"", &number(tick));
    }
    for (at, (label, value)) in values.iter().enumerate() {
        let (y, end) = (top + at as f64 * BAR, x.at(*value));
        let class = if label.starts_with("hookbox") { "a" } else { "bar" };
        let width = end - left;
        _ = writeln!(
            svg,
            r#"<rect class="{class}" x="{left}" y="{y:.1}" width="{width:.1}" height="20" rx="2"/>"#
        );
        text(&mut svg, left - 8.0, y + 15.0, "text-anchor=\"end\"", label);
        text(&mut svg, end + 6.0, y + 15.0, "", &number(*value));
    }
    svg + "</svg>\n"
}

/// Draws the curves, those of one panel together, with logarithmic scales.
fn lines(curves: &[Curve]) -> String {
    let panels: Vec<&[Curve]> = curves.chunk_by(|a, b| a.panel == b.panel).collect();
    let mut svg = start(panels.len().div_ceil(2) as f64 * PANEL.1, "How cost grows");
    for (at, panel) in panels.iter().enumerate() {
        let (x, y) = ((at % 2) as f64 * PANEL.0, (at / 2) as f64 * PANEL.1);
        _ = writeln!(svg, r#"<g transform="translate({x} {y})">"#);
        draw(&mut svg, panel);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// Draws a panel, from its own corner.
fn draw(svg: &mut String, curves: &[Curve]) {
    let Some(first) = curves.first() else { return };
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let x = Scale::exact(all().map(|(x, _)| *x), LEFT, PANEL.0 - RIGHT);
    let y = Scale::decades(all().map(|(_, y)| *y), PANEL.1 - BOTTOM, TOP);
    text(svg, LEFT, 24.0, "class=\"title\"", first.panel);
    text(svg, LEFT, PANEL.1 - 10.0, "class=\"small\"", first.x_label);
    let turned = format!("class=\"small\" text-anchor=\"end\" transform=\"translate(16 {TOP}) rotate(-90)\"");
    text(svg, 0.0, 0.0, &turned, first.y_label);
    for tick in y.ticks() {
        rule(svg, (LEFT, y.at(tick)), (PANEL.0 - RIGHT, y.at(tick)));
        text(svg, LEFT - 6.0, y.at(tick) + 4.0, "class=\"small\" text-anchor=\"end\"", &number(tick));
    }
    for tick in x.ticks() {
        rule(svg, (x.at(tick), TOP), (x.at(tick), PANEL.1 - BOTTOM));
        let below = PANEL.1 - BOTTOM + 16.0;
        text(svg, x.at(tick), below, "class=\"small\" text-anchor=\"middle\"", &number(tick));
    }
    let mut name_at = LEFT;
    for (curve, class) in curves.iter().zip(["a", "b"]) {
        text(svg, name_at, 44.0, &format!("class=\"{class}\""), curve.name);
        name_at += 16.0 + 7.0 * curve.name.chars().count() as f64;
        let points: Vec<_> = curve.points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        _ = writeln!(svg, r#"<polyline class="{class} line" points="{}"/>"#, path.join(" "));
        for (x, y) in &points {
            _ = writeln!(svg, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="2.5"/>"#);
        }
        // The first curve has its numbers above if it is alone, else below.
        let above = if class == "a" && curves.len() > 1 { -16.0 } else { 8.0 };
        for (at, anchor) in [(0, "start"), (points.len().saturating_sub(1), "end")] {
            if let (Some((x, y)), Some((_, value))) = (points.get(at), curve.points.get(at)) {
                let attributes = format!("class=\"small {class}\" text-anchor=\"{anchor}\"");
                text(svg, *x, y - above, &attributes, &number(*value));
            }
        }
    }
}

/// A logarithmic scale: values from `low` to `high`, at positions from `from` to `to`.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn exact(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        Self { low, high: high.max(low * 1.01), from, to }
    }

    /// Begins and ends with a power of ten.
    fn decades(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let exact = Self::exact(values, from, to);
        let low = 10_f64.powf(exact.low.log10().floor());
        Self { low, high: 10_f64.powf(exact.high.log10().ceil()), ..exact }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// The powers of ten in it.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
        (first..=last).map(|power| 10_f64.powi(power))
    }
}

fn start(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>{title}</title>\n{STYLE}\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n"
    )
}

fn text(svg: &mut String, x: f64, y: f64, attributes: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" {attributes}>{text}</text>"#);
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    _ = writeln!(svg, r#"<line class="grid" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

/// Three digits, and a space before every three of a large number.
fn number(value: f64) -> String {
    if value < 1000.0 {
        return if value < 10.0 && value.fract() != 0.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        };
    }
    let unit = 10_f64.powi(value.log10().floor() as i32 - 2);
    let value = ((value / unit).round() * unit) as u64;
    let (millions, thousands, ones) = (value / 1_000_000, value / 1000 % 1000, value % 1000);
    if millions > 0 {
        format!("{millions} {thousands:03} {ones:03}")
    } else {
        format!("{thousands} {ones:03}")
    }
}
