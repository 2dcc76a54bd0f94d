//! Checks the volumes of a pod and the sources they share with persistent volumes.

use super::env::{self, Reader};
use crate::fault::{Faults, Spot};
use crate::fields::{get, has, int, list, number, text};
use crate::{claim, metadata, syntax};
use model::{Quantity, Value, names};

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const ONLY_ONE: &str = "may not specify more than 1 volume type";

/// The sources of a pod's volume in the order they are looked at.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Finds the faults of a pod's volumes and gives the good ones, which containers may mount.
/// `pod` is the name of the pod, when there is one.
pub(crate) fn check_volumes<'a>(
    spec: &'a Value,
    pod: Option<&str>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) -> Vec<&'a Value> {
    let volumes = list(spec, "volumes");
    let mut good: Vec<&Value> = Vec::new();
    for (index, volume) in volumes.iter().enumerate() {
        let spot = &spot.index(index);
        let before = faults.len();
        check_source(volume, pod, spot, faults);
        let name = text(volume, "name");
        if name.is_empty() {
            faults.required(&spot.child("name"), "");
        } else {
            faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name));
        }
        if good.iter().any(|v| text(v, "name") == name) {
            faults.duplicate(&spot.child("name"), name);
        }
        if faults.len() == before {
            good.push(volume);
        }
        check_own_claim(volume, volumes, pod, spot, faults);
    }
    good
}

fn check_own_claim(
    volume: &Value,
    volumes: &[Value],
    pod: Option<&str>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let (Some(pod), true) = (pod, has(volume, "persistentVolumeClaim")) else {
        return;
    };
    let name = text(get(volume, "persistentVolumeClaim"), "claimName");
    let made = volumes
        .iter()
        .filter(|v| has(v, "ephemeral"))
        .any(|v| name == format!("{pod}-{}", text(v, "name")));
    if made && !pod.is_empty() {
        let spot = &spot.child("persistentVolumeClaim");
        faults.invalid(
            &spot.child("claimName"),
            name,
            "must not reference a PVC that gets created for an ephemeral volume",
        );
    }
}

fn check_source(volume: &Value, pod: Option<&str>, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen = false;
    for source in SOURCES.iter().filter(|source| has(volume, source)) {
        if seen {
            let shown = match *source {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                other => other,
            };
            faults.forbidden(&spot.child(shown), ONLY_ONE);
            continue;
        }
        seen = true;
        check_pod_source(source, volume, pod, spot, faults);
    }
    if !seen {
        faults.required(spot, "must specify a volume type");
    }
}

fn check_pod_source(
    source: &str,
    volume: &Value,
    pod: Option<&str>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let value = get(volume, source);
    let at = &spot.child(source);
    match source {
        "emptyDir" => {
            let size = Quantity::from_json(get(value, "sizeLimit"));
            if size.is_some_and(Quantity::is_negative) {
                let message = "SizeLimit field must be a valid resource quantity";
                faults.forbidden(&at.child("sizeLimit"), message);
            }
        }
        "secret" => check_files(value, "secretName", at, faults),
        "configMap" => check_files(value, "name", at, faults),
        "persistentVolumeClaim" => require(value, &["claimName"], at, faults),
        "gitRepo" => {
            require(value, &["repository"], at, faults);
            let directory = text(value, "directory");
            syntax::check_descending_path(directory, &at.child("directory"), faults);
        }
        "downwardAPI" => {
            check_mode(value, "defaultMode", at, faults);
            for file in list(value, "items") {
                check_downward_file(file, at, faults);
            }
        }
        "projected" => {
            check_mode(value, "defaultMode", at, faults);
            check_projections(value, at, faults);
        }
        "csi" => check_csi(value, at, faults),
        "ephemeral" => check_ephemeral(volume, pod, spot, faults),
        "image" => {
            if pod.is_some() {
                require(value, &["reference"], at, faults);
            }
            check_pull_policy(value, "pullPolicy", at, faults);
        }
        shared => check_shared(shared, value, spot, faults),
    }
}

/// Finds the faults of a pull policy.
pub(crate) fn check_pull_policy(owner: &Value, field: &str, spot: &Spot<'_>, faults: &mut Faults) {
    faults.one_of(
        &spot.child(field),
        text(owner, field),
        &["Always", "IfNotPresent", "Never"],
    );
}

/// Finds which of these texts are missing.
fn require(value: &Value, fields: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    for field in fields {
        if text(value, field).is_empty() {
            faults.required(&spot.child(field), "");
        }
    }
}

/// Finds the faults of a source that pods' volumes and persistent volumes share.
pub(crate) fn check_shared(source: &str, value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child(source);
    match source {
        "hostPath" => match text(value, "path") {
            "" => faults.required(&at.child("path"), ""),
            path => {
                syntax::check_no_backsteps(path, &at.child("path"), faults);
                let types = [
                    "",
                    "BlockDevice",
                    "CharDevice",
                    "Directory",
                    "DirectoryOrCreate",
                    "File",
                    "FileOrCreate",
                    "Socket",
                ];
                faults.maybe_one_of(&at.child("type"), get(value, "type"), &types);
            }
        },
        "gcePersistentDisk" => {
            let at = &spot.child("persistentDisk");
            require(value, &["pdName"], at, faults);
            check_partition(value, at, faults);
        }
        "awsElasticBlockStore" => {
            require(value, &["volumeID"], at, faults);
            check_partition(value, at, faults);
        }
        "nfs" => {
            require(value, &["server", "path"], at, faults);
            let path = text(value, "path");
            if !path.starts_with('/') {
                faults.invalid(&at.child("path"), path, "must be an absolute path");
            }
        }
        "iscsi" => check_iscsi(value, at, faults),
        "glusterfs" => require(value, &["endpoints", "path"], at, faults),
        "rbd" => {
            if list(value, "monitors").is_empty() {
                faults.required(&at.child("monitors"), "");
            }
            require(value, &["image"], at, faults);
        }
        "cephfs" if list(value, "monitors").is_empty() => {
            faults.required(&at.child("monitors"), "");
        }
        "cinder" | "portworxVolume" => require(value, &["volumeID"], at, faults),
        "vsphereVolume" => require(value, &["volumePath"], at, faults),
        "photonPersistentDisk" => require(value, &["pdID"], at, faults),
        "flexVolume" => require(value, &["driver"], at, faults),
        "azureFile" => require(value, &["secretName", "shareName"], at, faults),
        "fc" => check_fibre(value, at, faults),
        "azureDisk" => check_azure_disk(value, at, faults),
        _ => {}
    }
}

fn check_partition(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let partition = number(value, "partition");
    if !(0..=255).contains(&partition) {
        faults.invalid(&spot.child("partition"), partition, &syntax::range(1, 255));
    }
}

fn check_iscsi(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    require(value, &["targetPortal"], spot, faults);
    match text(value, "iqn") {
        "" => faults.required(&spot.child("iqn"), ""),
        iqn if !["iqn", "eui", "naa"].iter().any(|p| iqn.starts_with(p)) => faults.invalid(
            &spot.child("iqn"),
            iqn,
            "must be valid format starting with iqn, eui, or naa",
        ),
        _ => {}
    }
    let lun = number(value, "lun");
    if !(0..=255).contains(&lun) {
        faults.invalid(&spot.child("lun"), lun, &syntax::range(0, 255));
    }
}

fn check_fibre(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (targets, ids) = (list(value, "targetWWNs"), list(value, "wwids"));
    if targets.is_empty() && ids.is_empty() {
        let message = "must specify either targetWWNs or wwids, but not both";
        faults.required(&spot.child("targetWWNs"), message);
    }
    if !targets.is_empty() && !ids.is_empty() {
        let message = "targetWWNs and wwids can not be specified simultaneously";
        faults.invalid(&spot.child("targetWWNs"), targets.to_vec(), message);
    }
    if targets.is_empty() {
        return;
    }
    match int(value, "lun") {
        None => {
            let message = "lun is required if targetWWNs is specified";
            faults.required(&spot.child("lun"), message);
        }
        Some(lun) if !(0..=255).contains(&lun) => {
            faults.invalid(&spot.child("lun"), lun, &syntax::range(0, 255));
        }
        Some(_) => {}
    }
}

fn check_azure_disk(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    require(value, &["diskName", "diskURI"], spot, faults);
    faults.maybe_one_of(
        &spot.child("cachingMode"),
        get(value, "cachingMode"),
        &["None", "ReadOnly", "ReadWrite"],
    );
    faults.maybe_one_of(
        &spot.child("kind"),
        get(value, "kind"),
        &["Dedicated", "Managed", "Shared"],
    );
    let uri = text(value, "diskURI");
    let (start, form) = if text(value, "kind") == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    if !uri.starts_with(start) {
        faults.unsupported(&spot.child("diskURI"), uri, &[form]);
    }
}

fn check_mode(owner: &Value, field: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(mode) = int(owner, field).filter(|mode| !(0..=0o777).contains(mode)) {
        faults.invalid(&spot.child(field), mode, MODE);
    }
}

fn check_files(value: &Value, name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    require(value, &[name], spot, faults);
    check_mode(value, "defaultMode", spot, faults);
    for (index, item) in list(value, "items").iter().enumerate() {
        let spot = &spot.child("items");
        check_file(item, &spot.index(index), faults);
    }
}

fn check_file(item: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    require(item, &["key", "path"], spot, faults);
    syntax::check_local_path(text(item, "path"), &spot.child("path"), faults);
    check_mode(item, "mode", spot, faults);
}

fn check_downward_file(file: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    require(file, &["path"], spot, faults);
    syntax::check_local_path(text(file, "path"), &spot.child("path"), faults);
    if has(file, "fieldRef") {
        let at = &spot.child("fieldRef");
        env::check_field(get(file, "fieldRef"), Reader::Volume, at, faults);
        if has(file, "resourceFieldRef") {
            let message = "fieldRef and resourceFieldRef can not be specified simultaneously";
            faults.invalid(spot, "resource", message);
        }
    } else if has(file, "resourceFieldRef") {
        let at = &spot.child("resourceFieldRef");
        env::check_resource(get(file, "resourceFieldRef"), Reader::Volume, at, faults);
    } else {
        faults.required(spot, "one of fieldRef and resourceFieldRef is required");
    }
    check_mode(file, "mode", spot, faults);
}

fn check_projections(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut paths: Vec<&str> = Vec::new();
    for (index, source) in list(value, "sources").iter().enumerate() {
        let sources = &spot.child("sources");
        let at = &sources.index(index);
        let mut count = 0;
        for field in ["secret", "configMap"] {
            if !has(source, field) {
                continue;
            }
            count += 1;
            let part = get(source, field);
            let at = &at.child(field);
            require(part, &["name"], at, faults);
            for (index, item) in list(part, "items").iter().enumerate() {
                let items = &at.child("items");
                check_file(item, &items.index(index), faults);
                let path = text(item, "path");
                check_fresh(path, text(part, "name"), &mut paths, spot, faults);
            }
        }
        if has(source, "downwardAPI") {
            count += 1;
            for file in list(get(source, "downwardAPI"), "items") {
                check_downward_file(file, &at.child("downwardAPI"), faults);
                let path = text(file, "path");
                check_fresh(path, path, &mut paths, spot, faults);
            }
        }
        if has(source, "serviceAccountToken") {
            count += 1;
            check_token(get(source, "serviceAccountToken"), at, spot, faults);
        }
        if has(source, "clusterTrustBundle") {
            count += 1;
            let part = get(source, "clusterTrustBundle");
            let at = &at.child("clusterTrustBundle");
            require(part, &["path"], at, faults);
            let path = text(part, "path");
            syntax::check_local_path(path, &at.child("path"), faults);
            check_fresh(path, path, &mut paths, spot, faults);
        }
        if count > 1 {
            let message = "may not specify more than 1 volume type per source";
            faults.forbidden(at, message);
        }
    }
}

fn check_fresh<'a>(
    path: &'a str,
    shown: &str,
    paths: &mut Vec<&'a str>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    if path.is_empty() {
        return;
    }
    if paths.contains(&path) {
        faults.invalid(spot, shown, "conflicting duplicate paths");
    } else {
        paths.push(path);
    }
}

fn check_token(token: &Value, at: &Spot<'_>, volume: &Spot<'_>, faults: &mut Faults) {
    let seconds = number(token, "expirationSeconds");
    let part = &at.child("serviceAccountToken");
    let spot = &part.child("expirationSeconds");
    if seconds < 600 {
        let message = "may not specify a duration less than 10 minutes";
        faults.invalid(spot, seconds, message);
    }
    if seconds > 1 << 32 {
        let message = "may not specify a duration larger than 2^32 seconds";
        faults.invalid(spot, seconds, message);
    }
    match text(token, "path") {
        "" => faults.required(&volume.child("path"), ""),
        path => syntax::check_local_path(path, &volume.child("path"), faults),
    }
}

/// Finds the faults of the name of a CSI driver.
pub(crate) fn check_driver_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(spot, "");
    }
    if name.len() > 63 {
        faults.too_long(spot, 63);
    }
    faults.invalid_each(spot, name, names::dns1123_subdomain(&name.to_lowercase()));
}

fn check_csi(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    check_driver_name(text(value, "driver"), &spot.child("driver"), faults);
    if has(value, "nodePublishSecretRef") {
        match text(get(value, "nodePublishSecretRef"), "name") {
            "" => faults.required(&spot.child("nodePublishSecretRef.name"), ""),
            name => {
                let found = names::dns1123_subdomain(name);
                faults.invalid_each(&spot.child("name"), name, found);
            }
        }
    }
}

fn check_ephemeral(volume: &Value, pod: Option<&str>, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("ephemeral");
    let at = &at.child("volumeClaimTemplate");
    let template = get(get(volume, "ephemeral"), "volumeClaimTemplate");
    if template.is_null() {
        faults.required(at, "");
    } else {
        let meta = get(template, "metadata");
        let metadata_spot = &at.child("metadata");
        metadata::check_annotations(
            get(meta, "annotations"),
            &metadata_spot.child("annotations"),
            faults,
        );
        metadata::check_labels(get(meta, "labels"), &metadata_spot.child("labels"), faults);
        for (field, value) in meta.as_object().into_iter().flatten() {
            if !matches!(field.as_str(), "annotations" | "labels") && !value.is_null() {
                faults.forbidden(&metadata_spot.child(field), "cannot be set");
            }
        }
        claim::check_spec(get(template, "spec"), &at.child("spec"), faults);
    }
    let name = text(volume, "name");
    if let Some(pod) = pod.filter(|pod| !pod.is_empty() && !name.is_empty()) {
        let claim = format!("{pod}-{name}");
        for fault in names::dns1123_subdomain(&claim) {
            let message = format!("PVC name {}: {fault}", model::field::go_quote(&claim));
            faults.invalid(&spot.child("name"), name, &message);
        }
    }
}
